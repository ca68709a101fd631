import { z } from "zod";

const instrumentSchema = z.object({
  tag: z.string().regex(/^MI-\d{4}$/),
  family: z.enum(["bowed", "plucked", "reed", "brass", "skin"]),
  maker: z.string().min(1),
  year: z.number().int().optional(),
});

export type Instrument = z.infer<typeof instrumentSchema>;

export interface Loan {
  tag: string;
  pupil: string;
  from: string;
  until: string;
  depositEuro: number;
}

export function parseInstrument(row: unknown): Instrument {
  const result = instrumentSchema.safeParse(row);
  if (!result.success) {
    throw new Error(`not an instrument: ${result.error.message}`);
  }
  return result.data;
}

export function overdue(loans: Loan[], today: string): Loan[] {
  return loans
    .filter((loan) => loan.until < today)
    .sort((a, b) => a.until.localeCompare(b.until));
}

export async function remind(loan: Loan, send: (to: string, text: string) => Promise<void>): Promise<void> {
  const text = `Please bring back ${loan.tag}, which was due on ${loan.until}.`;
  await send(loan.pupil, text);
}

export function depositFor(instrument: Instrument): number {
  const age = instrument.year === undefined ? 0 : new Date().getFullYear() - instrument.year;
  const base = { bowed: 120, plucked: 60, reed: 80, brass: 150, skin: 40 }[instrument.family];
  return age > 80 ? base * 3 : base;
}
