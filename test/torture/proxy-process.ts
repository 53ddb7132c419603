import { startTcpProxy, type TcpProxy } from './tcp-proxy.js';

/** The requests to the process of the proxies, and its answers under the same number. */
export interface ProxyOrder {
  order: number;
  proxy: number;
  what: 'start' | 'cut' | 'delay' | 'halfOpen' | 'heal' | 'look' | 'arrivals' | 'close';
  target?: { host: string; port: number };
  delayMs?: number;
}

const proxies = new Map<number, TcpProxy>();

async function obey({ proxy: id, what, target, delayMs = 0 }: ProxyOrder): Promise<unknown> {
  if (what === 'start' && target) {
    const started = await startTcpProxy(target);
    proxies.set(id, started);
    return started.port;
  }
  const proxy = proxies.get(id);
  if (!proxy) throw new Error(`there is no proxy ${id} to ${what}`);
  switch (what) {
    case 'cut':
      return proxy.cut();
    case 'delay':
      return proxy.delay(delayMs);
    case 'halfOpen':
      return proxy.halfOpen();
    case 'heal':
      return proxy.heal();
    case 'close':
      proxies.delete(id);
      return proxy.close();
    case 'arrivals':
      return proxy.arrivals;
    default:
      return { disturbed: proxy.disturbed, inUse: proxy.inUse };
  }
}

process.on('message', (order: ProxyOrder) => {
  obey(order).then(
    (answer) => process.send?.({ order: order.order, answer }),
    (error: Error) => process.send?.({ order: order.order, error: error.stack }),
  );
});
// Nobody is left who would close them.
process.on('disconnect', () => process.exit());
