/** A map that forgets what was used longest ago. */
export class LruCache<K, V> {
  readonly #capacity: number;
  readonly #onEvict: ((value: V) => void) | undefined;
  readonly #entries = new Map<K, V>();

  constructor(capacity: number, onEvict?: (value: V) => void) {
    if (capacity < 1) throw new RangeError(`an LRU cache needs a capacity of at least 1, got ${capacity}`);
    this.#capacity = capacity;
    this.#onEvict = onEvict;
  }

  get size(): number {
    return this.#entries.size;
  }

  has(key: K): boolean {
    return this.#entries.has(key);
  }

  get(key: K): V | undefined {
    const value = this.#entries.get(key);
    if (value === undefined) return undefined;
    this.#entries.delete(key);
    this.#entries.set(key, value);
    return value;
  }

  set(key: K, value: V): void {
    this.#entries.delete(key);
    this.#entries.set(key, value);
    for (const [oldest, forgotten] of this.#entries) {
      if (this.#entries.size <= this.#capacity) break;
      this.#entries.delete(oldest);
      this.#onEvict?.(forgotten);
    }
  }

  clear(): void {
    for (const value of this.#entries.values()) this.#onEvict?.(value);
    this.#entries.clear();
  }
}
