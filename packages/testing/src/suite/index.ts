export { type OnEngine, onEachEngine, startOnEachEngine, startSystem } from './start-system.ts';
