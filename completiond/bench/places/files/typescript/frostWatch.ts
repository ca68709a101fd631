import { EventEmitter } from "node:events";

export interface ProbeReading {
  probeId: string;
  row: number;
  celsius: number;
  humidity: number;
  takenAt: Date;
}

export interface FrostAlarm {
  rows: number[];
  lowestCelsius: number;
  severity: "watch" | "warning" | "sprinklers";
}

const WATCH_CELSIUS = 2;
const WARNING_CELSIUS = 0.5;
const STALE_AFTER_MS = 15 * 60 * 1000;

/** Follows the temperature probes between the rows of an orchard through one night. */
export class FrostWatch extends EventEmitter {
  private readonly latest = new Map<string, ProbeReading>();
  private sprinklersOn = false;

  constructor(private readonly blossomStage: "tight cluster" | "pink" | "full bloom") {
    super();
  }

  /** Celsius at which a tenth of the blossoms die. */
  get criticalCelsius(): number {
    switch (this.blossomStage) {
      case "tight cluster":
        return -2.8;
      case "pink":
        return -2.2;
      case "full bloom":
        return -1.7;
    }
  }

  accept(reading: ProbeReading): void {
    const previous = this.latest.get(reading.probeId);
    if (previous && previous.takenAt >= reading.takenAt) {
      return;
    }
    this.latest.set(reading.probeId, reading);
    const alarm = this.assess(reading.takenAt);
    if (alarm) {
      this.emit("alarm", alarm);
    } else {
      this.emit("clear");
    }
  }

  private assess(now: Date): FrostAlarm | undefined {
    const fresh = [...this.latest.values()].filter(
      (reading) => now.getTime() - reading.takenAt.getTime() < STALE_AFTER_MS,
    );
    const cold = fresh.filter((reading) => reading.celsius <= WATCH_CELSIUS);
    if (cold.length === 0) {
      return undefined;
    }
    const lowestCelsius = Math.min(...cold.map((reading) => reading.celsius));
    return { rows: cold.map((reading) => reading.row), lowestCelsius, severity: this.severityOf(lowestCelsius) };
  }

  private severityOf(celsius: number): FrostAlarm["severity"] {
    if (celsius <= this.criticalCelsius) {
      this.sprinklersOn = true;
      return "sprinklers";
    }
    return celsius <= WARNING_CELSIUS ? "warning" : "watch";
  }
}
