import { useEffect, useState } from "react";

/** The value itself once it has been the same for `ms` milliseconds, and null before; at once when `ms` is 0. */
export function useRested<T>(value: T | null, ms: number): T | null {
  const [rested, setRested] = useState<T | null>(null);
  useEffect(() => {
    if (ms === 0) return;
    const timer = setTimeout(() => setRested(value), ms);
    return () => clearTimeout(timer);
  }, [value, ms]);
  return ms === 0 || rested === value ? value : null;
}
