// Checkpoints of one training run: models that the server calls RUN@STEP.
export interface Checkpoint {
  name: string;
  step: number;
}
const pattern = /^(.+)@(\d+)$/;
export const runOf = (name: string): string | null => pattern.exec(name)?.[1] ?? null;
// Whether head 2.1 of one is head 2.1 of the other: the same model, or another checkpoint of the same training.
export const sameHeads = (a: string, b: string): boolean => a === b || (runOf(a) !== null && runOf(a) === runOf(b));
// Those of the run that `name` belongs to, in the order of their steps; none if it is not a checkpoint.
export function checkpointsOf(names: string[], name: string): Checkpoint[] {
  const run = runOf(name);
  if (run === null) return [];
  return names
    .filter((one) => runOf(one) === run)
    .map((one) => ({ name: one, step: Number(pattern.exec(one)![2]) }))
    .sort((a, b) => a.step - b.step);
}
