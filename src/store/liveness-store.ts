/**
 * When turns could last be worked on: by a process that was there, with an engine that answered.
 *
 * Owns the time alone. What a gap in it means for the open turns is decided by who sees it.
 */
export interface LivenessStore {
  /** ISO 8601; undefined where nobody has said so yet. */
  lastAlive(): Promise<string | undefined>;
  /** Says that work is possible at this time. Survives the end of any process; a power cut may lose it. */
  markAlive(at: string): Promise<void>;
}
