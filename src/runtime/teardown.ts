/** Ends what was started, last first. One end that fails does not keep the others from theirs. */
import type { Logger } from 'pino';

export class Teardown {
  readonly #steps: { readonly name: string; readonly end: () => Promise<void> | void }[] = [];

  constructor(private readonly logger: Logger) {}

  add(name: string, end: () => Promise<void> | void): void {
    this.#steps.push({ name, end });
  }

  async run(): Promise<void> {
    for (const { name, end } of this.#steps.splice(0).reverse()) {
      try {
        await end();
      } catch (error) {
        this.logger.error({ err: error, part: name }, 'a part did not stop cleanly');
      }
    }
  }
}
