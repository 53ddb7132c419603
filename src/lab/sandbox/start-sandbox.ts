import { createControls } from './create-controls.js';
import { resolveOptions, type SandboxOptions } from './options.js';
import type { Sandbox } from './sandbox.js';
import { openServer } from './server.js';
import { createState } from './state.js';

/**
 * Starts a strict stand-in for the service on 127.0.0.1. It keeps everything in memory and shares no code with the sender,
 * so that the two can't agree on a mistake.
 */
export async function startSandbox(options: Partial<SandboxOptions> = {}): Promise<Sandbox> {
  const state = createState(resolveOptions(options));
  const controls = createControls(state);
  const first = await openServer(state, controls, state.options.port);
  const { port } = first;
  let server: typeof first | null = first;

  const goDown = async (): Promise<void> => {
    const closing = server;
    server = null;
    await closing?.close();
  };
  return {
    ...controls,
    url: `${state.options.tls ? 'https' : 'http'}://127.0.0.1:${port}`,
    port,
    goDown,
    comeBack: async () => {
      server ??= await openServer(state, controls, port);
    },
    close: goDown,
  };
}
