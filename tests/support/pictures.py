"""What a picture shows: the rows of its layers and panels."""


def specified(chart):
    """An Altair chart as a specification, with the data in their places."""
    spec = chart.to_dict()
    held = spec.pop("datasets", {})

    def place(part):
        if "name" in part.get("data", {}):
            part["data"] = {"values": held[part["data"]["name"]]}
        for key in ("layer", "concat", "hconcat", "vconcat"):
            for one in part.get(key, ()):
                place(one)
        return part

    return place(spec)


def panels(chart):
    """Specifications of the panels of a chart."""
    spec = specified(chart)
    parts = next((spec[key] for key in ("concat", "hconcat", "vconcat") if key in spec), [spec])
    return [{"data": spec["data"], **part} if "data" in spec else part for part in parts]


def rows(chart, layer=None):
    """Rows of data of a chart or a panel, or of one of its layers that has rows of its own."""
    spec = chart if isinstance(chart, dict) else specified(chart)
    return (spec if layer is None else spec["layer"][layer])["data"]["values"]


def column(values, name):
    """A column of rows."""
    return [value[name] for value in values]


def encoded(chart, channel, layer=None):
    """How a channel of a chart, or of a layer, is encoded."""
    spec = chart if isinstance(chart, dict) else specified(chart)
    return (spec if layer is None else spec["layer"][layer])["encoding"][channel]
