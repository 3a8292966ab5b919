"""Images from files: every mode read rightly, and what cannot be read named."""

import io
import warnings
from pathlib import Path

import numpy as np
from PIL import Image, ImageChops, ImageOps, UnidentifiedImageError

from codednet.errors import CodednetError

IMAGE_SUFFIXES = (".jpg", ".jpeg", ".png", ".webp", ".bmp", ".gif", ".ppm", ".pgm", ".tif", ".tiff")
"""What the name of an image ends with, in small or capital letters."""

_RANGES = (1, 255, 65535)
_WITH_ALPHA = ("LA", "La", "PA", "RGBA", "RGBa")


class UnreadableImage(CodednetError):  # noqa: N818
    """A file that is no image, or a damaged one."""

    def __init__(self, name: str, why: str) -> None:
        super().__init__(f"{name} must be an image that can be read, but {why}. Repair or remove it.")
        self.why = why


def read_image(source: str | Path | bytes, in_chans: int = 3, name: str | None = None) -> Image.Image:
    """The image, upright, in grey (in_chans=1) or RGB (3), 8 bits a channel; UnreadableImage where there is none.

    16 bits are scaled to 8; what is transparent becomes white; of several frames the first is taken. `name` is what a
    message calls an image that comes as bytes.
    """
    called = name or ("an image" if isinstance(source, bytes) else str(source))
    with warnings.catch_warnings():
        # Large images, odd EXIF and odd palettes are read as well as can be.
        warnings.simplefilter("ignore")
        try:
            with Image.open(io.BytesIO(source) if isinstance(source, bytes) else source) as image:
                image.load()
                return _plain(_upright(image)).convert("L" if in_chans == 1 else "RGB")
        except FileNotFoundError:
            raise UnreadableImage(called, "there is no such file") from None
        # Damaged files make PIL's decoders raise almost anything.
        except Exception as error:
            raise UnreadableImage(called, _reason(error)) from error


def _upright(image: Image.Image) -> Image.Image:
    """The image as its EXIF orientation says it is to be seen; as it is where that cannot be understood."""
    # Turning loses the format and what else the file said of the image.
    try:
        turned = ImageOps.exif_transpose(image)
    except Exception:
        return image
    turned.format = image.format
    return turned


def _plain(image: Image.Image) -> Image.Image:
    """The image in a mode that PIL converts to grey and RGB as one expects."""
    if image.mode in ("I", "F") or image.mode.startswith("I;16"):
        return _eight_bits(image)
    if image.mode in _WITH_ALPHA or "transparency" in image.info:
        coloured = image.convert("RGBA")
        return Image.alpha_composite(Image.new("RGBA", image.size, "white"), coloured).convert("RGB")
    if image.mode == "CMYK" and image.format == "JPEG" and "adobe" not in image.info:
        # PIL takes every JPEG for one of Adobe's, which store the inverse.
        return ImageChops.invert(image)
    return image


def _eight_bits(image: Image.Image) -> Image.Image:
    """Brightness from 0 to 255. Integers of 16 bits are; other numbers tell their range by the largest of them."""
    values = np.nan_to_num(np.asarray(image).astype(np.float64), posinf=0.0)
    most = max(values.max(initial=0), 0)
    top = 65535 if image.mode != "F" and image.format != "TIFF" else next((r for r in _RANGES if most <= r), most)
    if image.mode.startswith("I;16"):
        top = 65535
    return Image.fromarray(np.rint(values.clip(0, top) * (255 / top)).astype(np.uint8))


def _reason(error: Exception) -> str:
    if isinstance(error, UnidentifiedImageError):
        return "it is no image of a known format"
    text = str(error).strip().rstrip(".")
    return f"reading it failed: {text or type(error).__name__}"
