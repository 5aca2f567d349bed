/** Copies memory in an endless loop, so that other processes get less cache and memory bandwidth. */
const BYTES = 64 * 1024 * 1024;
const source = Buffer.alloc(BYTES, 1);
const target = Buffer.alloc(BYTES);

function copy(): void {
  source.copy(target);
  setImmediate(copy);
}

process.once('disconnect', () => process.exit());
process.send?.('ready');
copy();
