"""The data that a page holds, unpacked; with "text" the page around it too."""
import base64, lzma, re, sys, zlib
page = open(sys.argv[1], "rb").read()
if "text" in sys.argv:
    sys.stdout.buffer.write(re.sub(rb'(<script[^>]*id="mt-[^"]+"[^>]*>)[^<]*', rb"\1", page))
for name, data in re.findall(rb'<script[^>]*id="(mt-[^"]+)"[^>]*>([^<]*)</script>', page):
    try:
        packed = base64.b64decode(data, validate=True)
        sys.stdout.buffer.write(b"\n" + (lzma.decompress if name == b"mt-report" else zlib.decompress)(packed))
    except Exception:
        sys.stdout.buffer.write(b"\n" + data)
