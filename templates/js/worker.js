// What runs beside the page.

onmessage = () => postMessage(null);
