// Draws icon.png: a cursor, what was typed before it, and the ghost text behind it. `node scripts/icon.mjs`
import { writeFileSync } from "node:fs";
import { crc32, deflateSync } from "node:zlib";

const SIZE = 128;
const BACKGROUND = [28, 35, 51];
// x, y, width, height, colour: lines of code, the cursor, and the suggestion
const BARS = [
  [22, 30, 34, 8, [122, 162, 247]],
  [62, 30, 26, 8, [200, 208, 226]],
  [34, 50, 50, 8, [200, 208, 226]],
  [34, 70, 22, 8, [200, 208, 226]],
  [60, 64, 4, 20, [255, 199, 89]],
  [68, 70, 36, 8, [98, 110, 138]],
  [34, 90, 54, 8, [98, 110, 138]],
];
const RADIUS = 22;

function isInside(x, y, left, top, width, height, radius) {
  const dx = Math.max(left + radius - x, x - (left + width - radius), 0);
  const dy = Math.max(top + radius - y, y - (top + height - radius), 0);
  return dx * dx + dy * dy <= radius * radius;
}

function colourAt(x, y) {
  for (const [left, top, width, height, colour] of BARS) {
    if (isInside(x, y, left, top, width, height, Math.min(3, width / 2))) return [...colour, 255];
  }
  return isInside(x, y, 0, 0, SIZE, SIZE, RADIUS) ? [...BACKGROUND, 255] : [...BACKGROUND, 0];
}

function chunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE(crc32(body), 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

const rows = [];
for (let y = 0; y < SIZE; y++) {
  const row = [0]; // no filter
  for (let x = 0; x < SIZE; x++) {
    // Each pixel is the mean of 16 places in it, so that round corners are smooth.
    const sum = [0, 0, 0, 0];
    for (let i = 0; i < 16; i++) {
      const colour = colourAt(x + ((i % 4) + 0.5) / 4, y + (Math.floor(i / 4) + 0.5) / 4);
      colour.forEach((value, at) => (sum[at] += value / 16));
    }
    row.push(...sum.map(Math.round));
  }
  rows.push(Buffer.from(row));
}
const header = Buffer.from([0, 0, 0, SIZE, 0, 0, 0, SIZE, 8, 6, 0, 0, 0]); // 8 bits, red, green, blue, alpha
writeFileSync(
  "icon.png",
  Buffer.concat([
    Buffer.from([137, 80, 78, 71, 13, 10, 26, 10]),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(Buffer.concat(rows), { level: 9 })),
    chunk("IEND", Buffer.alloc(0)),
  ]),
);
