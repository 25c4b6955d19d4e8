// Kinds of operations; FREE is a request with its completion, REQ and DONE are those that lie apart. START begins a run: its state. One statement
// each: so the bundler writes the numbers where they are used.
export const K_ALLOC = 0;
export const K_FREE = 1;
export const K_FREE_REQ = 2;
export const K_FREE_DONE = 3;
export const K_FREE_UNKNOWN = 4;
export const K_SEG_ALLOC = 5;
export const K_SEG_FREE = 6;
export const K_SEG_MAP = 7;
export const K_SEG_UNMAP = 8;
export const K_OOM = 9;
export const K_SNAPSHOT = 10;
export const K_OTHER = 11;
export const K_LOST = 12;
export const K_START = 13;
