"""Functions as WebAssembly modules, without a toolchain: `link` turns LLVM's object into a module, `source` does the
rest."""
