# docker build -t memtrace . && docker run --rm -v "$PWD:/w" memtrace report snapshot.pickle -o report.html
# In an image of your own: COPY --from=memtrace /opt/memtrace /opt/memtrace   (it needs glibc 2.34 or newer, and nothing else)
FROM debian:bookworm AS build
COPY . /src
WORKDIR /src
RUN ./bootstrap.sh deps package
RUN cmake -S . -B /build -DBUILD_TESTING=OFF && cmake --build /build -j "$(nproc)" && cd /build && cpack -G TGZ
RUN mkdir /out && tar -xzf /build/packages/memtrace-*.tar.gz -C /out --strip-components=1

FROM debian:bookworm-slim
COPY --from=build /out /opt/memtrace
ENV PATH=/opt/memtrace/bin:/usr/local/bin:/usr/bin:/bin
WORKDIR /w
ENTRYPOINT ["/opt/memtrace/bin/memtrace"]
