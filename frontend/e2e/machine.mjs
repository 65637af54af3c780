// How busy this machine is while something is measured: aims hold as they stand on a quiet one, however fast or slow.
import { slowness } from "./browser.mjs";

const WORK = 1_000_000;

/** Hours by the clock for each hour of computing: 1 while nobody else wants the processor. */
function share() {
  const used = process.cpuUsage();
  const start = performance.now();
  let sum = 0;
  for (let i = 0; i < WORK; i++) sum = (sum * 31 + Math.sqrt(i)) % 1_000_003;
  const { user, system } = process.cpuUsage(used);
  return (performance.now() - start + (sum < 0 ? 1 : 0)) / ((user + system) / 1000);
}

/** Notes how busy the machine is between the parts of a measurement. */
export class Busyness {
  #shares = [];

  note(times = 1) {
    for (let i = 0; i < times; i++) this.#shares.push(share());
  }

  /** How many times longer than on a quiet machine the parts may have taken: the mean of what was noted, at least 1. */
  get factor() {
    const sum = this.#shares.reduce((all, one) => all + one, 0);
    return Math.max(1, sum / this.#shares.length);
  }

  /** What is allowed here and now for an aim in milliseconds; `SLOW` slows both the page and each of `answers` answers. */
  allowed(aimMs, answers) {
    const delays = slowness > 1 ? answers * 50 : 0;
    return (aimMs + delays) * slowness * this.factor;
  }
}
