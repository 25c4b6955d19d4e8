"""The data that a page holds, unpacked; with "text" the page around it too."""
import base64, gzip, lzma, os, re, sys, zlib
def report(data):
    """Digits of RFC 1924 with other characters for three that HTML reads; the numbers stand behind the text (parser/base/apart.h), keys are two bytes (json_words.h)."""
    packed = base64.b85decode(data.translate(bytes.maketrans(b",.:", b"&<>")))
    _, text, numbers = (gzip if packed[:2] == b"\x1f\x8b" else lzma).decompress(packed).split(b"\x1e")
    numbers = iter(numbers.split(b","))
    with open(os.path.join(os.environ["MT_SOURCE_DIR"], "parser/base/json_words.def"), "rb") as f:
        words = re.findall(rb'MT_JSON_WORD\("(\w+)"\)', f.read())
    def whole(m):
        if m[0][0] >= 0xC0:
            return b'"' + words[(m[0][0] - 0xC0) * 128 + m[0][1] - 0x80] + b'":'
        return next(numbers) if m[0] == b"0" else m[0]
    return re.sub(rb'"(?:[^"\\]|\\.)*"|0|[\xc0-\xff][\x80-\xff]', whole, text)
page = open(sys.argv[1], "rb").read()
if "text" in sys.argv:
    sys.stdout.buffer.write(re.sub(rb'(<script[^>]*id="mt-[^"]+"[^>]*>)[^<]*', rb"\1", page))
for name, data in re.findall(rb'<script[^>]*id="(mt-[^"]+)"[^>]*>([^<]*)</script>', page):
    try:
        sys.stdout.buffer.write(b"\n" + (report(data) if name == b"mt-report" else zlib.decompress(base64.b64decode(data, validate=True))))
    except Exception:
        sys.stdout.buffer.write(b"\n" + data)
