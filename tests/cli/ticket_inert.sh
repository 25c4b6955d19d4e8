#!/usr/bin/env bash
# Names that are Markdown or HTML are text in a ticket: rendered with the program and the extensions of GitHub, nothing but what memtrace writes is
# left as an element, and no mention, no address, no picture. The report's Markdown, which hides no names, is rendered too.
# shellcheck source=tests/cli/lib.sh
. "$(dirname "$0")/lib.sh"
need cmark-gfm
need python3
python3 -B "$MT_SOURCE_DIR/tests/cli/ticket_inputs.py" --hostile
cat > elements.py << 'END'
"""What is in rendered HTML: FILE..."""
import html.parser, re, sys
OURS = {"h3", "p", "strong", "details", "summary", "ul", "ol", "li", "code", "pre", "table", "thead", "tbody", "tr", "th", "td", "br", "hr", "sub"}
class Page(html.parser.HTMLParser):
    def __init__(self):
        super().__init__()
        self.bad, self.code, self.text = [], 0, ""
    def handle_starttag(self, tag, attrs):
        self.code += tag == "code"
        if tag not in OURS or any(k not in ("align",) for k, v in attrs):
            self.bad.append((tag, attrs))
    def handle_endtag(self, tag):
        self.code -= tag == "code"
    def handle_comment(self, text):
        self.bad.append(("comment", text))
    def handle_data(self, text):
        if not self.code: # GitHub links nothing in code
            self.text += text
for name in sys.argv[1:]:
    page = Page()
    page.feed(open(name, encoding="utf-8").read())
    mentions = re.findall(r"(?:^|[^\w`/])@[a-z]\w*", page.text)
    for what in page.bad + mentions:
        print(name, what)
END
render() { cmark-gfm --unsafe -e table -e strikethrough -e autolink -e tasklist -e footnotes "$1" > "$1.html"; }
n=0
for input in hostile*.json; do
    run 0 ticket "$input" --config "${input%.json}.yaml" -q -o "${input%.json}"
    run 0 report "$input" --config "${input%.json}.yaml" -q --format md --full -o "${input%.json}/plain.md"
    for md in "${input%.json}"/*.md; do
        render "$md"
        check grep -q '<details><summary>' "$md.html"
        n=$((n + 1))
    done
done
check [ "$n" -ge 40 ]
python3 -B elements.py hostile*/*.md.html > found || fail 'the rendered pages cannot be read'
if [ -s found ]; then fail "not inert: $(head -n 5 found)"; else ok; fi
# or this proves nothing
printf '<b>x</b> <https://a.example> @octocat ![x](y)\n' > alive.md
render alive.md
check [ "$(python3 -B elements.py alive.md.html | wc -l)" -ge 4 ]
finish
