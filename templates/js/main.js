// Where the page's script starts.

document.documentElement.classList.add("js");
