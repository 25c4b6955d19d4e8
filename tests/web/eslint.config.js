// What the page's script must not do; see templates/js/ and render/html/script.h for how the modules are joined.
const browser = ["window", "document", "navigator", "location", "history", "self", "onmessage", "postMessage", "addEventListener",
  "matchMedia", "getComputedStyle", "requestAnimationFrame", "cancelAnimationFrame", "setTimeout", "clearTimeout", "performance",
  "devicePixelRatio", "innerWidth", "innerHeight", "scrollTo", "atob", "btoa", "Blob", "URL", "URLSearchParams", "Worker",
  "DecompressionStream", "ReadableStream", "Response", "TextDecoder", "TextEncoder", "Image", "ImageData", "Path2D", "OffscreenCanvas",
  "ResizeObserver", "IntersectionObserver", "MutationObserver", "Event", "CustomEvent", "KeyboardEvent", "MouseEvent", "PointerEvent",
  "WheelEvent", "HTMLElement", "HTMLInputElement", "HTMLCanvasElement", "Element", "Node", "getSelection", "console", "queueMicrotask",
  "structuredClone", "CSS", "DOMRect"];

export default [
  {
    files: ["**/*.js"],
    languageOptions: {
      ecmaVersion: 2022,
      sourceType: "module",
      globals: Object.fromEntries(browser.map((name) => [name, "readonly"])),
    },
    linterOptions: { reportUnusedDisableDirectives: "error" },
    rules: {
      "no-undef": "error", "no-unused-vars": "error", "no-redeclare": "error", "no-shadow": "error", "no-var": "error", "prefer-const": "error",
      "eqeqeq": "error", "no-eval": "error", "no-implied-eval": "error", "no-new-func": "error", "no-unreachable": "error",
      "no-fallthrough": "error", "no-loss-of-precision": "error", "no-unsafe-finally": "error", "no-self-compare": "error",
      "no-constant-condition": ["error", { checkLoops: false }], "valid-typeof": "error", "use-isnan": "error", "no-dupe-keys": "error",
      "no-console": "error",
      "no-restricted-syntax": ["error",
        { selector: "ExportDefaultDeclaration", message: "modules are joined into one scope: name it" },
        { selector: "ExportNamedDeclaration[source]", message: "no re-exports: modules are joined into one scope" },
        { selector: "ExportSpecifier", message: "export where it is declared: the word is dropped when modules are joined" },
        { selector: "ImportDefaultSpecifier, ImportNamespaceSpecifier", message: "modules are joined into one scope: import names" },
        { selector: "Program > ExpressionStatement > AwaitExpression", message: "no top-level await" }],
      "no-restricted-properties": ["error",
        { property: "innerHTML", message: "names in a trace are anybody's text: textContent" },
        { property: "outerHTML", message: "names in a trace are anybody's text: textContent" },
        { property: "insertAdjacentHTML", message: "names in a trace are anybody's text: append()" },
        { object: "document", property: "write" }],
      "no-restricted-globals": ["error", "fetch", "XMLHttpRequest", "WebSocket", "EventSource", "localStorage", "sessionStorage", "indexedDB", "name", "event"],
    },
  },
];
