// Properties of objects that the page's scripts alone make and read: in what bundle.mjs writes they have names of one letter. None may be a name of
// the browser's (test_static.mjs looks) or a key of the index (joined.mjs), none is read by a name in a string, and none is of what the worker sends, which
// roundtrip.test.js compares with what the modules make.
export const OWN = ("asked axisRange beside bottomUp buckets colors eventAt fFile fName foldInternal frameIds hasExact hover isWhole laneAt loadExact " +
  "meta nSites nStacks nStrings onProgress opOfEvent overview sFrame sUp seconds sites startExact stretches").split(" ");
/** What they are called: nothing else of the scripts is called by a capital letter. */
export const LETTERS = [..."ABCDEFGHIJKLMNOPQRSTUVWXYZ", "AA", "AB", "AC", "AD"];
