/** Why a file of a session is refused, and where. */

/** The file is not as it was written, or what it says cannot be a session. */
export class ArchiveDamage extends Error {
  override readonly name = 'ArchiveDamage';
  constructor(
    /** From 1. */
    readonly line: number,
    readonly reason: string,
  ) {
    super(`Line ${String(line)} ${reason}.`);
  }
}
