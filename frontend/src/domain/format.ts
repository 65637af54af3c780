/** Numbers as people read them. */

const integer = new Intl.NumberFormat("en-US", { maximumFractionDigits: 0 });

export function formatInt(value: number): string {
  return integer.format(value);
}

/** Three significant digits, without an exponent where that stays short. */
export function formatSignificant(value: number, digits = 3): string {
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (size < 1e-4 || size >= 1e6) return trimExponent(value.toExponential(digits - 1));
  if (size >= 1000) return integer.format(value);
  return value.toPrecision(digits);
}

function trimExponent(text: string): string {
  return text.replace("e+", "e").replace(/e(-?)0+(\d)/, "e$1$2");
}

/** An error such as 3.1e-7 or 0.175. */
export function formatError(value: number): string {
  if (value === 0) return "0";
  return value >= 0.01 ? formatSignificant(value) : trimExponent(value.toExponential(1));
}

export function formatMs(ms: number): string {
  if (ms === 0) return "0 ms";
  if (ms < 0.1) return `${(ms * 1000).toPrecision(3)} µs`;
  if (ms < 1000) return `${ms.toPrecision(3)} ms`;
  const seconds = ms / 1000;
  return seconds < 100 ? `${seconds.toPrecision(3)} s` : `${integer.format(seconds)} s`;
}

/** 0.58 – 0.83 ms: the unit once where both have the same. */
export function formatMsRange(low: number, high: number): string {
  const [first = "", unit] = formatMs(low).split(" ");
  const last = formatMs(high);
  return last.endsWith(` ${unit}`) ? `${first} – ${last}` : `${first} ${unit} – ${last}`;
}

/** 1K, 32K, 1M for whole multiples of 1024, else the number. */
export function formatSize(count: number): string {
  if (count >= 1048576 && count % 1048576 === 0) return `${count / 1048576}M`;
  return count >= 1024 && count % 1024 === 0 ? `${count / 1024}K` : formatInt(count);
}

/** 8 s, 3 min, 2 h: how long something takes that is not known exactly. */
export function formatDuration(seconds: number): string {
  if (seconds < 90) return `${Math.max(1, Math.round(seconds))} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  return `${(seconds / 3600).toPrecision(2)} h`;
}

export function formatBytes(bytes: number): string {
  if (bytes < 1024) return `${bytes} B`;
  const units = ["KiB", "MiB", "GiB", "TiB"];
  let value = bytes;
  let unit = "B";
  for (const next of units) {
    if (value < 1024) break;
    value /= 1024;
    unit = next;
  }
  return `${value < 100 ? value.toPrecision(3) : integer.format(value)} ${unit}`;
}

/** 4.2 GFLOP, 1.3 TFLOP. */
export function formatFlops(flops: number): string {
  const units: [number, string][] = [
    [1e15, "PFLOP"],
    [1e12, "TFLOP"],
    [1e9, "GFLOP"],
    [1e6, "MFLOP"],
    [1e3, "kFLOP"],
  ];
  for (const [size, unit] of units) {
    if (flops >= size) return `${formatSignificant(flops / size)} ${unit}`;
  }
  return `${integer.format(flops)} FLOP`;
}

/** A rate given in TFLOP/s, in the unit that needs no leading zeros. */
export function formatRate(tflops: number): string {
  return `${formatFlops(tflops * 1e12)}/s`;
}

/** The unit in which the largest of some rates, given in TFLOP/s, is between 1 and 1000. */
export function rateUnit(tflops: number): { unit: string; perTflop: number } {
  if (tflops >= 1) return { unit: "TFLOP/s", perTflop: 1 };
  return tflops >= 1e-3 ? { unit: "GFLOP/s", perTflop: 1e3 } : { unit: "MFLOP/s", perTflop: 1e6 };
}

/** 12.3 %. What is more than nothing or less than all never reads as nothing or all: < 0.1 %, > 99.9 %. */
export function formatPercent(share: number, digits = 1): string {
  const step = 10 ** -digits;
  const text = (share * 100).toFixed(digits);
  if (share > 0 && Number(text) === 0) return `< ${step} %`;
  if (share < 1 && Number(text) === 100) return `> ${(100 - step).toFixed(digits)} %`;
  return `${text} %`;
}

/** "just now", "4 min ago", "3 h ago", "12 d ago". */
export function formatAge(iso: string, now: number): string {
  const seconds = Math.max(0, (now - Date.parse(iso)) / 1000);
  if (seconds < 45) return "just now";
  if (seconds < 3600) return `${Math.max(1, Math.round(seconds / 60))} min ago`;
  if (seconds < 86_400) return `${Math.round(seconds / 3600)} h ago`;
  return `${Math.round(seconds / 86_400)} d ago`;
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${formatInt(count)} ${count === 1 ? one : many}`;
}
