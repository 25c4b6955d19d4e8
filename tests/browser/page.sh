#!/usr/bin/env bash
# page.sh [REPORT.html [FOLDER]] -- what a browser makes of a report: nothing wider than the page at 1440 and 390 pixels, every
# section there and every picture drawn, the same in dark colours and without CSS. With FOLDER it leaves screenshots there, wide and
# narrow, light and dark. Without an argument it makes the reports itself, with $MEMTRACE from samples/.
# Ends with 77 where there is no Chromium.
set -u
export LC_ALL=C
report=${1:-}
shots=${2:-}

chromium=
for name in ${CHROMIUM:-} chromium chromium-browser google-chrome; do
    if command -v "$name" > /dev/null 2>&1; then
        chromium=$name
        break
    fi
done
if [ -z "$chromium" ]; then
    echo "# skipped: there is no Chromium (CHROMIUM names one)"
    exit 77
fi

tmp=$(mktemp -d) || exit 1
trap 'rm -rf "$tmp"' EXIT

run() { # no sandbox: containers have no user namespaces; no name is ever resolved
    timeout 120 "$chromium" --headless --no-sandbox --disable-gpu --hide-scrollbars --allow-file-access-from-files \
        --user-data-dir="$tmp/profile" --host-resolver-rules='MAP * ~NOTFOUND' "$@" 2> "$tmp/stderr"
}

# measure PAGE WIDTH: prints "scrollWidth sections svgs visible-svgs" of the page in a frame of that width
measure() {
    cat > "$tmp/frame.html" << HTML
<body style="margin:0"><iframe id="f" src="$1" width="$2" height="900" style="border:0"></iframe><script>
const f = document.getElementById('f');
f.onload = () => {
  const d = f.contentDocument, svg = [...d.querySelectorAll('svg.plot')];
  const words = [d.documentElement.scrollWidth, d.querySelectorAll('section').length, svg.length,
                 svg.filter(s => s.getBoundingClientRect().height > 50).length];
  document.body.innerHTML = '<p>measured ' + words.join(' ') + '</p>';
};
</script></body>
HTML
    run --window-size=1600,1000 --virtual-time-budget=5000 --dump-dom "file://$tmp/frame.html" |
        sed -n 's/.*<p>measured \([0-9 ]*\)<.*/\1/p'
}

# variants PAGE: light.html, dark.html and bare.html of it
variants() {
    cp "$1" "$tmp/light.html"
    # The page follows the system; a browser without a window cannot be told which that is, so the condition is turned round.
    sed 's/(prefers-color-scheme: dark)/(min-width: 1px)/; s/content="light dark"/content="dark"/' "$1" > "$tmp/dark.html"
    # A mail or ticket preview that drops inline CSS.
    sed "s/style-src 'unsafe-inline'/style-src 'none'/" "$1" > "$tmp/bare.html"
}

failed=0
check() {
    local page width ok sections wide seen svgs drawn
    sections=$(grep -c '<section ' "$1")
    variants "$1"
    for page in light dark bare; do
        for width in 1440 390; do
            read -r wide seen svgs drawn < <(measure "$page.html" "$width")
            if [ -z "${drawn:-}" ]; then
                echo "not ok - $(basename "$1"), $page at $width: the browser gave no measure"
                sed 's/^/# /' "$tmp/stderr"
                failed=1
                continue
            fi
            ok=ok
            # Without CSS a table or a picture may be as wide as it has to be.
            [ "$page" = bare ] || [ "$wide" -le "$width" ] || ok="not ok"
            [ "$sections" -gt 3 ] && [ "$seen" -eq "$sections" ] || ok="not ok"
            [ "$svgs" -gt 0 ] && [ "$drawn" -eq "$svgs" ] || ok="not ok"
            [ "$ok" = ok ] || failed=1
            echo "$ok - $(basename "$1"), $page at $width: $wide pixels wide, $seen of $sections sections, $drawn of $svgs pictures"
        done
    done
}

screenshots() {
    local page
    mkdir -p "$2" || exit 1
    variants "$1"
    for page in light dark; do
        run --window-size=1440,3200 --screenshot="$2/$page-1440.png" "file://$tmp/$page.html"
        # a window is never narrower than 500 pixels, so the narrow page stands in a frame
        echo "<body style='margin:0'><iframe src='$page.html' width=390 height=3200 style='border:0'></iframe>" > "$tmp/narrow.html"
        run --window-size=500,3200 --screenshot="$2/$page-390.png" "file://$tmp/narrow.html"
    done
    run --window-size=1440,3200 --screenshot="$2/bare-1440.png" "file://$tmp/bare.html"
    ls "$2"
}

if [ -n "$report" ]; then
    check "$report"
    [ -z "$shots" ] || screenshots "$report" "$shots"
    exit "$failed"
fi

samples=$(cd "$(dirname "${BASH_SOURCE[0]}")/../../samples" && pwd) || exit 1
n=0
for sample in verl_grpo_oom_logprob.pickle verl_two_ranks.tar.gz; do
    if ! "${MEMTRACE:?names the program}" report "$samples/$sample" -o "$tmp/$sample.html" > "$tmp/report" 2>&1; then
        echo "not ok - memtrace report $sample"
        sed 's/^/# /' "$tmp/report"
        failed=1
        continue
    fi
    check "$tmp/$sample.html"
    n=$((n + 1))
done
[ "$n" -gt 0 ] || failed=1
exit "$failed"
