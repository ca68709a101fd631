package org.example.marsh;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.StringJoiner;

public class MarshSurvey {
    private final Map<String, Integer> countBySpecies = new LinkedHashMap<>();
    private final String transect;
    private int quadrats;

    public MarshSurvey(String transect) {
        this.transect = transect;
    }

    public void addQuadrat(Map<String, Integer> counts) {
        for (Map.Entry<String, Integer> entry : counts.entrySet()) {
            countBySpecies.merge(entry.getKey(), entry.getValue(), Integer::sum);
        }
        quadrats++;
    }

    public double densityOf(String species) {
        if (quadrats == 0) {
            return 0.0;
        } else {
            return (double) countBySpecies.getOrDefault(species, 0) / quadrats;
        }
    }

    /** Shannon's index: zero where one species has the marsh to itself. */
    public double diversity() {
        int total = countBySpecies.values().stream().mapToInt(Integer::intValue).sum();
        double index = 0.0;
        for (int count : countBySpecies.values()) {
            double share = (double) count / total;
            index -= share * Math.log(share);
        }
        return index;
    }

    @Override
    public String toString() {
        StringJoiner lines = new StringJoiner("\n", transect + ":\n", "");
        countBySpecies.forEach((species, count) -> lines.add("  " + species + " " + count));
        return lines.toString();
    }
}
