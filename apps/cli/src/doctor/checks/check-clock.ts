import { type Finding, finding } from '../finding.ts';

const MAXIMUM_DIFFERENCE_MILLISECONDS = 3000;

/**
 * Compares the clock of a server with that of this machine.
 *
 * @param at when the server read its clock, by the clock of this machine
 */
export function checkClock(server: string, time: number, at: number): readonly Finding[] {
  const difference = time - at;
  if (!(Math.abs(difference) > MAXIMUM_DIFFERENCE_MILLISECONDS)) {
    return [];
  }
  const seconds = Math.round(Math.abs(difference) / 1000);
  const direction = difference > 0 ? 'ahead of' : 'behind';
  const what = `The clock of ${server} is ${seconds} s ${direction} the clock of this machine.`;
  return [finding('clock_differs', what)];
}
