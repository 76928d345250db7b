import react from '@vitejs/plugin-react';
import { defineConfig } from 'vite';
import { precompress } from './precompression.ts';

export default defineConfig({
  root: import.meta.dirname,
  plugins: [react(), precompress()],
  build: { outDir: 'dist', emptyOutDir: true, reportCompressedSize: true },
});
