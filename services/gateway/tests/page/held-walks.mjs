// A server in front of the gateway that answers questions itself, with a walk whose events come when a test says so.
import { once } from 'node:events';
import { createServer, request as send } from 'node:http';
import { PATIENCE } from './browser.mjs';

/** A walk that somebody asked for and that is under way. */
class HeldWalk {
  #response;

  constructor(response) {
    this.#response = response;
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    response.flushHeaders();
  }

  /** Hands out events. @param {...object} events `WalkEvent`s */
  send(...events) {
    for (const event of events) {
      const kind = Object.keys(event).find((name) => name !== 'elapsed');
      this.#response.write(`event: ${kind}\ndata: ${JSON.stringify(event)}\n\n`);
    }
  }

  /** Waits until the connection is closed. @returns {Promise<boolean>} whether that was before the end */
  async left() {
    if (!this.#response.closed) await once(this.#response, 'close', { signal: AbortSignal.timeout(PATIENCE) });
    return !this.#response.writableFinished;
  }

  end() {
    this.#response.end();
  }
}

/**
 * Serves while `use` runs. It is given the address, and `asked`, which waits for the next question.
 * @param {string} gateway the address of what answers all else
 * @param {(at: string, asked: () => Promise<HeldWalk>) => Promise<void>} use
 */
export async function holdWalks(gateway, use) {
  const walks = [];
  const server = createServer((request, response) => {
    if (request.url === '/v1/ask') {
      request.resume();
      walks.push(new HeldWalk(response));
      server.emit('asked');
      return;
    }
    // To the gateway, the page is of another origin.
    const { host, origin, ...headers } = request.headers;
    const passed = send(new URL(request.url, gateway), { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const asked = async () => {
    if (walks.length === 0) await once(server, 'asked', { signal: AbortSignal.timeout(PATIENCE) });
    return walks.shift();
  };
  try {
    await use(`http://127.0.0.1:${server.address().port}/`, asked);
  } finally {
    server.close();
    server.closeAllConnections();
  }
}
