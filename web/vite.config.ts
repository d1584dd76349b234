import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';

export default defineConfig({
  plugins: [react()],
  build: {
    target: 'es2022',
    // scripts/build.mjs empties it, except for its .gitignore.
    emptyOutDir: false,
    // An inlined file is a data: address, which the page's policy does not allow for scripts and styles.
    assetsInlineLimit: 0,
    // The polyfill is for browsers older than the target.
    modulePreload: { polyfill: false },
  },
  server: { proxy: { '/api': process.env.GPUAAS_URL ?? 'http://127.0.0.1:8080', '/auth': process.env.GPUAAS_URL ?? 'http://127.0.0.1:8080' } },
});
