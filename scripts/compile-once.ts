/**
 * Loaded by every process of Jest (test.ts). Each test file loads its modules again, in a separate
 * context. This keeps the compiled code of a module for the next file, which saves a quarter of the
 * processor time of loading.
 */
import vm from 'node:vm';

/** The types of Node omit it. */
type Compiled = { createCachedData(): Buffer };

const modules = new Map<string, Buffer>();
const functions = new Map<string, Buffer>();

const { SourceTextModule, compileFunction } = vm;

vm.SourceTextModule = new Proxy(SourceTextModule, {
  construct(target, [code, options]: [string, vm.SourceTextModuleOptions?]) {
    const compiled = compileModule(target, code, options);
    if (!modules.has(code)) {
      modules.set(code, (compiled as unknown as Compiled).createCachedData());
    }
    return compiled;
  },
});

function compileModule(
  Module: typeof SourceTextModule,
  code: string,
  options?: vm.SourceTextModuleOptions,
): vm.SourceTextModule {
  const cachedData = modules.get(code);
  if (cachedData !== undefined) {
    try {
      return new Module(code, { ...options, cachedData });
    } catch {
      // V8 rejects compiled code after a change of its flags.
      modules.delete(code);
    }
  }
  return new Module(code, options);
}

vm.compileFunction = (code, parameters, options) => {
  const cachedData = functions.get(code);
  const how = cachedData === undefined ? { produceCachedData: true } : { cachedData };
  const compiled = compileFunction(code, parameters, { ...options, ...how });
  if (compiled.cachedData !== undefined) {
    functions.set(code, compiled.cachedData);
  }
  return compiled;
};
