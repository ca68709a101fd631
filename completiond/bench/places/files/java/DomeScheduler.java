package org.example.observatory;

import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Optional;

/** Decides which target a small observatory looks at next, and turns the dome there. */
public final class DomeScheduler {
    private static final double MAX_WIND_METRES_PER_SECOND = 14.0;
    private static final double MIN_ALTITUDE_DEGREES = 25.0;

    private final List<Target> targets = new ArrayList<>();
    private final Weather weather;
    private double azimuthDegrees;

    public DomeScheduler(Weather weather) {
        this.weather = weather;
    }

    public void add(Target target) {
        if (target.exposure().isNegative() || target.exposure().isZero()) {
            throw new IllegalArgumentException("exposure of " + target.name() + " is not positive");
        }
        targets.add(target);
    }

    /** The brightest target that is high enough and has not set before its exposure ends. */
    public Optional<Target> next(Instant now) {
        if (!isSafe()) {
            return Optional.empty();
        }
        return targets.stream()
                .filter(target -> target.altitudeDegrees(now) >= MIN_ALTITUDE_DEGREES)
                .filter(target -> target.altitudeDegrees(now.plus(target.exposure())) >= MIN_ALTITUDE_DEGREES)
                .min(Comparator.comparingDouble(Target::magnitude));
    }

    private boolean isSafe() {
        return !weather.isRaining() && weather.windMetresPerSecond() < MAX_WIND_METRES_PER_SECOND;
    }

    /** Degrees to turn, negative for anticlockwise; never more than half a turn. */
    public double turnTo(double wantedDegrees) {
        double turn = (wantedDegrees - azimuthDegrees) % 360;
        if (turn > 180) {
            turn -= 360;
        } else if (turn < -180) {
            turn += 360;
        }
        azimuthDegrees = (azimuthDegrees + turn + 360) % 360;
        return turn;
    }

    public interface Weather {
        boolean isRaining();

        double windMetresPerSecond();
    }

    public interface Target {
        String name();

        double magnitude();

        double altitudeDegrees(Instant when);

        Duration exposure();
    }
}
