/** What a search service is to `web_search`. */

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  /** What the page says about the query; '' where the service shows nothing. */
  readonly snippet: string;
  /** When the page was written, in the service's words. */
  readonly age?: string;
}

export interface SearchProvider {
  /**
   * The hits, the best first.
   *
   * @throws {ToolError} TOOL_ERROR with a message for the model, in which no key stands; the signal's reason where that
   *   is aborted.
   */
  search(query: string, signal: AbortSignal): Promise<readonly SearchHit[]>;
}
