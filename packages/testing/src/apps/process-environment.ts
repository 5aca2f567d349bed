/** Variables that every test process inherits: the program path and the compile cache of Node. */
export const processEnvironment: NodeJS.ProcessEnv = {
  PATH: process.env.PATH,
  ...(process.env.NODE_COMPILE_CACHE === undefined
    ? {}
    : { NODE_COMPILE_CACHE: process.env.NODE_COMPILE_CACHE }),
};
