/** An adapter behind the gate of its provider key. */
import { ModelFailure } from './model-failure.js';
import type { ModelAdapter } from './model-adapter.js';
import type { GateEntry, ProviderGate } from './provider-gate.js';

/** The same adapter, whose calls wait for the gate and tell it when the provider asks for a wait. */
export function gatedAdapter(
  adapter: ModelAdapter,
  gate: ProviderGate,
  { key, concurrency }: Pick<GateEntry, 'key' | 'concurrency'>,
): ModelAdapter {
  return {
    wire: adapter.wire,
    adapterDefaults: adapter.adapterDefaults,
    stream: async function* (request, options) {
      const leave = await gate.enter({ key, concurrency, signal: options.signal });
      try {
        yield* adapter.stream(request, options);
      } catch (error) {
        if (error instanceof ModelFailure && error.retryable && error.retryAfterMs !== undefined) {
          gate.hold(key, error.retryAfterMs);
        }
        throw error;
      } finally {
        leave();
      }
    },
  };
}
