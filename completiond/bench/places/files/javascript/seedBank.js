import { readFile, writeFile } from "node:fs/promises";

const VIABLE_SHARE = 0.65;

export async function loadPackets(path) {
  const text = await readFile(path, "utf8");
  return text
    .split("\n")
    .filter((line) => line.trim() !== "" && !line.startsWith("#"))
    .map((line) => {
      const [accession, species, harvested, grams] = line.split(";");
      return { accession, species, harvested: new Date(harvested), grams: Number(grams) };
    });
}

export function germinationShare(trial) {
  const sprouted = trial.dishes.reduce((sum, dish) => sum + dish.sprouted, 0);
  const sown = trial.dishes.reduce((sum, dish) => sum + dish.sown, 0);
  return sown === 0 ? 0 : sprouted / sown;
}

export function needsRegrowing(packet, trials) {
  const own = trials.filter((trial) => trial.accession === packet.accession);
  if (own.length === 0) {
    return false;
  }
  const newest = own.reduce((a, b) => (a.endedAt > b.endedAt ? a : b));
  return germinationShare(newest) < VIABLE_SHARE;
}

export async function saveReport(path, packets, trials) {
  const rows = packets
    .filter((packet) => needsRegrowing(packet, trials))
    .map((packet) => `${packet.accession};${packet.species};${packet.grams}`);
  await writeFile(path, rows.join("\n") + "\n");
}
