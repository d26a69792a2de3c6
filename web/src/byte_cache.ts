// A map with a limit in bytes that drops the least recently used entries. `with` returns a new one, so that signals see
// the change; the entries are shared.
interface Entry<T> {
  value: T;
  bytes: number;
}
export class ByteCache<T> {
  constructor(
    readonly most: number,
    private entries: Map<string, Entry<T>> = new Map(),
    readonly bytes = 0,
  ) {}
  get(key: string): T | undefined {
    const found = this.entries.get(key);
    if (!found) return undefined;
    this.entries.delete(key); // moved to the end: most recently used
    this.entries.set(key, found);
    return found.value;
  }
  // The newest entry is kept, whatever its size.
  with(key: string, value: T, bytes: number): ByteCache<T> {
    let sum = this.bytes - (this.entries.get(key)?.bytes ?? 0) + bytes;
    this.entries.delete(key);
    for (const [old, entry] of this.entries) {
      if (sum <= this.most) break;
      this.entries.delete(old);
      sum -= entry.bytes;
    }
    this.entries.set(key, { value, bytes });
    return new ByteCache(this.most, this.entries, sum);
  }
  get size(): number {
    return this.entries.size;
  }
}
