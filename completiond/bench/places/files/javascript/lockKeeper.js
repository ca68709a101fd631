/** A flight of canal locks: who may enter which chamber, and when the gates move. */

const FILL_LITRES_PER_SECOND = 1900;
const MIN_CLEARANCE_METRES = 0.3;

class Chamber {
  constructor(name, lengthMetres, riseMetres) {
    this.name = name;
    this.lengthMetres = lengthMetres;
    this.riseMetres = riseMetres;
    this.level = "low";
    this.boats = [];
  }

  freeMetres() {
    const taken = this.boats.reduce((sum, boat) => sum + boat.lengthMetres + MIN_CLEARANCE_METRES, 0);
    return this.lengthMetres - taken;
  }

  canEnter(boat) {
    if (boat.direction === "up") {
      return this.level === "low" && this.freeMetres() >= boat.lengthMetres;
    }
    return this.level === "high" && this.freeMetres() >= boat.lengthMetres;
  }

  turn() {
    this.level = this.level === "low" ? "high" : "low";
    const leaving = this.boats;
    this.boats = [];
    return leaving;
  }
}

class Flight {
  constructor(chambers) {
    this.chambers = chambers;
    this.queue = [];
    this.log = [];
  }

  arrive(boat) {
    if (!boat.licence) {
      throw new Error(`${boat.name} has no licence for this canal`);
    }
    this.queue.push(boat);
    this.queue.sort((a, b) => b.priority - a.priority);
  }

  step() {
    for (const chamber of this.chambers) {
      const next = this.queue.find((boat) => chamber.canEnter(boat));
      if (next) {
        this.queue.splice(this.queue.indexOf(next), 1);
        chamber.boats.push(next);
      } else {
        this.log.push({ chamber: chamber.name, left: chamber.turn().map((boat) => boat.name) });
      }
    }
  }

  secondsToFill(chamber) {
    const litres = chamber.lengthMetres * chamber.riseMetres * 5.2 * 1000;
    return litres / FILL_LITRES_PER_SECOND;
  }
}

module.exports = { Chamber, Flight };
