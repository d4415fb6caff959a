/** Which model a request goes to: the profile's, the session's own choice over it, and the prompt's over both. */

/** What a session or a prompt chose; absent parts come from what it stands on. */
export interface PartialChoice {
  readonly provider?: string | undefined;
  readonly model?: string | undefined;
}

export interface ModelChoice {
  readonly provider: string;
  readonly model: string;
}

/**
 * The choice that the layers amount to, the last one winning. A model never comes from a layer with another provider: one
 * that names a provider alone gets that provider's usual model.
 *
 * @param usualModel undefined where the provider has none.
 * @returns the choice, with a `model` of undefined where only a provider is known.
 */
export function chooseModel(
  base: ModelChoice,
  layers: readonly (PartialChoice | undefined)[],
  usualModel: (provider: string) => string | undefined,
): { readonly provider: string; readonly model: string | undefined } {
  let provider = base.provider;
  let model: string | undefined = base.model;
  for (const layer of layers) {
    const changesProvider = layer?.provider !== undefined && layer.provider !== provider;
    if (changesProvider) provider = layer.provider;
    model = layer?.model ?? (changesProvider ? usualModel(provider) : model);
  }
  return { provider, model };
}

/**
 * The model of a provider where none is named: that of the first of these choices which has the provider, else the only
 * one that the provider lists.
 */
export function usualModelOf(
  provider: string,
  choices: readonly (ModelChoice | undefined)[],
  listed: readonly string[],
): string | undefined {
  const chosen = choices.find((choice) => choice?.provider === provider)?.model;
  return chosen ?? (listed.length === 1 ? listed[0] : undefined);
}
