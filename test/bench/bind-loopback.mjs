// Preload for programs without a host option: whatever they listen on becomes 127.0.0.1.
import { Server } from 'node:net';

const { listen } = Server.prototype;
Server.prototype.listen = function (...args) {
  if (typeof args[0] === 'object' && args[0] !== null) args[0] = { ...args[0], host: '127.0.0.1' };
  else if (typeof args[0] === 'number') args.splice(1, typeof args[1] === 'string' ? 1 : 0, '127.0.0.1');
  return listen.apply(this, args);
};
