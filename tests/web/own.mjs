// Properties of objects that the page's scripts alone make and read: in what bundle.mjs writes they have names of one letter. None may be a name of
// the browser's (test_static.mjs looks) or a key of the index (joined.mjs), none is read by a name in a string, and none is of what the worker sends, which
// roundtrip.test.js compares with what the modules make.
export const OWN = ("asked axisRange beside born bottomUp buckets colors depth eventAt exact fFile fName foldInternal frameIds gone hasExact hover isWhole " +
  "laneAt listeners loadExact meta nSites nStacks nStrings onProgress opOfEvent overview queued reads rough sFrame sUp seconds single sites startExact " +
  "stretches").split(" ");
const abc = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ"];
/** What they are called: nothing else of the scripts is called by capital letters. */
export const LETTERS = [...abc, ...abc.map((c) => `A${c}`)];
