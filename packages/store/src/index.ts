export { createStore } from './create-store.ts';
export { type Counter, NEVER_EXPIRES, type Store, StoreUnavailable } from './store.ts';
