/** `serve`: everything in one process, until it is told to end. */
import type { ConfigurationFlags } from '../runtime/configuration/settings.js';
import { startTurnkeeper } from '../runtime/turnkeeper.js';
import { VERSION } from '../runtime/version.js';
import type { CliIo } from './cli-io.js';
import { EXIT } from './exit-codes.js';

/** Serves until a signal or a failure. Returns the exit code; a start that fails throws. */
export async function serve(flags: ConfigurationFlags, io: CliIo): Promise<number> {
  let askedToStop: () => void = () => undefined;
  const stopAsked = new Promise<void>((resolve) => {
    askedToStop = resolve;
  });
  let signals = 0;
  const ignore = io.onInterrupt(() => {
    signals += 1;
    if (signals > 1) io.forceExit(EXIT.interrupted);
    askedToStop();
  });
  try {
    const turnkeeper = await startTurnkeeper({
      flags,
      env: io.env,
      onProgress: (message) => void io.stderr.write(`${message}\n`),
    });
    await io.stdout.write(
      [
        `Turnkeeper ${VERSION} is ready.`,
        `  API          ${turnkeeper.url}`,
        ...(turnkeeper.uiUrl === undefined ? [] : [`  Temporal UI  ${turnkeeper.uiUrl}`]),
        `  Home         ${turnkeeper.home}`,
        '',
      ].join('\n'),
    );
    await Promise.race([stopAsked, turnkeeper.stopped]);
    await io.stderr.write('Stopping; running turns go on after the next start.\n');
    await turnkeeper.stop();
    return EXIT.completed;
  } finally {
    ignore();
  }
}
