/** A real browser without a screen: a Chromium of the machine, or Debian's, driven by playwright-core. */
import { chromium, type Browser } from 'playwright-core';
import { debianProgram } from './debian-program.js';

const CHROMIUM = {
  names: ['chromium-headless-shell', 'chromium', 'chromium-browser', 'google-chrome'],
  package: 'chromium-headless-shell',
  file: 'usr/lib/chromium/chromium-headless-shell',
};

/** Starts one. Whoever starts it closes it. */
export async function launchBrowser(): Promise<Browser> {
  const { path, env } = await debianProgram(CHROMIUM);
  const defined = Object.entries(env).filter((entry): entry is [string, string] => entry[1] !== undefined);
  return chromium.launch({ executablePath: path, env: Object.fromEntries(defined) });
}
