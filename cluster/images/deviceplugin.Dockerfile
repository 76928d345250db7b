FROM scratch
COPY deviceplugin /deviceplugin
ENTRYPOINT ["/deviceplugin"]
