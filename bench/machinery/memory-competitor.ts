/** Copies memory without end, so that other processes get less cache and memory bandwidth. */
const BYTES = 64 * 1024 * 1024;
const source = Buffer.alloc(BYTES, 1);
const target = Buffer.alloc(BYTES);

process.send?.('ready');
for (;;) {
  source.copy(target);
}
