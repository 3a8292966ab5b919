import contextlib
import io
import random
import struct
import zlib

import numpy as np
import pytest
from PIL import Image, ImageOps

from codednet.data import UnreadableImage, read_image
from codednet.errors import CodednetError

# 8 x 6 pixels, each with a value of its own
VALUES = np.arange(48, dtype=np.uint8).reshape(6, 8) * 5
COLOURS = np.stack([VALUES, VALUES[::-1], 255 - VALUES], axis=2)


def saved(image: Image.Image, form: str = "PNG", **options: object) -> bytes:
    file = io.BytesIO()
    image.save(file, form, **options)
    return file.getvalue()


def pixels(source: bytes, in_chans: int = 3) -> np.ndarray:
    image = read_image(source, in_chans)
    assert image.mode == ("L" if in_chans == 1 else "RGB")
    return np.asarray(image)


def on_white(colours: np.ndarray, alpha: np.ndarray) -> np.ndarray:
    share = alpha[..., None] / 255
    return colours * share + 255 * (1 - share)


def test_grey_images_have_three_equal_channels():
    assert np.array_equal(pixels(saved(Image.fromarray(VALUES))), VALUES[..., None].repeat(3, 2))
    assert np.array_equal(pixels(saved(Image.fromarray(VALUES)), 1), VALUES)


def test_colours_stay_and_become_grey_by_brightness():
    data = saved(Image.fromarray(COLOURS))
    assert np.array_equal(pixels(data), COLOURS)
    assert np.abs(pixels(data, 1) - COLOURS @ [0.299, 0.587, 0.114]).max() <= 0.5001


def test_black_and_white_is_0_and_255():
    assert np.array_equal(pixels(saved(Image.fromarray(VALUES > 100)), 1), np.where(VALUES > 100, 255, 0))


def test_palettes_are_looked_up():
    image = Image.fromarray(VALUES // 5).convert("P")
    image.putpalette([channel for i in range(256) for channel in ((7 * i) % 256, 255 - i, i)])
    index = (VALUES // 5).astype(int)
    want = np.stack([(7 * index) % 256, 255 - index, index], 2)
    assert np.array_equal(pixels(saved(image)), want)
    assert np.array_equal(pixels(saved(image, "GIF")), want)
    see_through = pixels(saved(image, transparency=3))
    assert (see_through[index == 3] == 255).all()
    assert np.array_equal(see_through[index != 3], want[index != 3])


@pytest.mark.parametrize("mode", ["LA", "RGBA"])
def test_what_is_transparent_becomes_white(mode):
    alpha = VALUES[::-1, ::-1].copy()
    image = Image.fromarray(COLOURS).convert("L").convert(mode) if mode == "LA" else Image.fromarray(COLOURS)
    colours = np.asarray(image.convert("RGB"))
    image.putalpha(Image.fromarray(alpha))
    assert np.abs(pixels(saved(image)).astype(float) - on_white(colours, alpha)).max() <= 1


@pytest.mark.parametrize("mode", ["L", "RGB"])
def test_a_transparent_colour_becomes_white(mode):
    image = Image.fromarray(COLOURS).convert(mode)
    plain = np.asarray(image.convert("RGB"))
    key = image.getpixel((2, 1))
    got = pixels(saved(image, transparency=key))
    assert (got[1, 2] == 255).all()
    others = (plain != plain[1, 2]).any(axis=2)
    assert np.array_equal(got[others], plain[others])


def test_sixteen_bits_are_scaled_not_clipped():
    values = np.linspace(0, 65535, 48).reshape(6, 8).astype(np.uint16)
    for form in ("PNG", "TIFF"):
        got = pixels(saved(Image.fromarray(values), form), 1)
        assert np.abs(got - values / 257).max() <= 0.5001, form
    dark = pixels(saved(Image.fromarray((values // 300).astype(np.uint16))), 1)
    assert dark.max() <= 1


def test_big_endian_sixteen_bits_are_read():
    values = np.linspace(0, 65535, 48).reshape(6, 8).astype(np.uint16)
    file = b"P5 8 6 65535\n" + values.astype(">u2").tobytes()
    assert np.abs(pixels(file, 1) - values / 257).max() <= 0.5001


@pytest.mark.parametrize(
    ("top", "kind"), [(1.0, np.float32), (255.0, np.float32), (65535.0, np.float32), (65535, np.int32)]
)
def test_wide_numbers_tell_their_range_by_the_largest(top, kind):
    values = np.linspace(0, top, 48).reshape(6, 8).astype(kind)
    got = pixels(saved(Image.fromarray(values), "TIFF"), 1)
    assert np.abs(got - values * (255 / top)).max() <= 0.5001


def test_numbers_that_are_none_are_black():
    values = np.full((6, 8), 0.5, np.float32)
    values[0, 0], values[0, 1], values[0, 2] = np.nan, -3, np.inf
    got = pixels(saved(Image.fromarray(values), "TIFF"), 1)
    assert got[0, :3].tolist() == [0, 0, 0]
    assert (got[1:] == 128).all()


def cmyk() -> np.ndarray:
    inks = np.zeros((16, 16, 4), np.uint8)
    inks[:, :, 0], inks[:, 8:, 1], inks[8:, :, 3] = 200, 60, 40
    return inks


def test_inks_are_subtracted_from_white():
    inks = cmyk()
    want = (255 - inks[..., :3].astype(float)) * (255 - inks[..., 3:].astype(float)) / 255
    image = Image.frombytes("CMYK", (16, 16), inks.tobytes())
    assert np.abs(pixels(saved(image, "TIFF")) - want).max() <= 2
    # Adobe's JPEGs, which PIL writes, hold the inverse of the inks and say so in a segment of their own.
    adobe = saved(image, "JPEG", quality=100)
    assert b"Adobe" in adobe
    assert np.abs(pixels(adobe) - want).max() <= 4
    # Without that segment the values are the inks themselves.
    start = adobe.index(b"\xff\xee")
    length = struct.unpack(">H", adobe[start + 2 : start + 4])[0]
    inverse = Image.frombytes("CMYK", (16, 16), (255 - inks).tobytes())
    plain = saved(inverse, "JPEG", quality=100)
    plain = plain[:start] + plain[start + 2 + length :]
    assert b"Adobe" not in plain
    assert np.abs(pixels(plain) - want).max() <= 4


@pytest.mark.parametrize("orientation", range(1, 9))
def test_images_are_turned_as_their_exif_says(orientation):
    exif = Image.Exif()
    exif[0x0112] = orientation
    image = Image.fromarray(COLOURS)
    turns = {
        2: ImageOps.mirror,
        3: lambda i: i.rotate(180),
        4: ImageOps.flip,
        5: lambda i: i.transpose(Image.Transpose.TRANSPOSE),
        6: lambda i: i.rotate(-90, expand=True),
        7: lambda i: i.transpose(Image.Transpose.TRANSVERSE),
        8: lambda i: i.rotate(90, expand=True),
    }
    want = np.asarray(turns.get(orientation, lambda i: i)(image))
    assert np.array_equal(pixels(saved(image, exif=exif)), want)


def test_exif_that_is_nonsense_is_ignored():
    data = saved(Image.fromarray(VALUES).convert("RGB"), "JPEG", exif=b"Exif\0\0MM\0*\xff\xff\xff\xff" + b"\x01" * 9)
    assert pixels(data).shape == (6, 8, 3)


def test_the_first_of_several_frames_is_taken():
    frames = [Image.fromarray(COLOURS), Image.fromarray(255 - COLOURS)]
    data = saved(frames[0], "TIFF", save_all=True, append_images=frames[1:])
    assert np.array_equal(pixels(data), COLOURS)


def test_a_file_is_read_from_its_path(tmp_path):
    Image.fromarray(COLOURS).save(tmp_path / "a.png")
    assert np.array_equal(np.asarray(read_image(tmp_path / "a.png")), COLOURS)
    assert np.array_equal(np.asarray(read_image(str(tmp_path / "a.png"))), COLOURS)


def bomb() -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", 60_000, 60_000, 8, 0, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", b"") + chunk(b"IEND", b"")


def test_what_cannot_be_read_is_named_with_the_reason(tmp_path):
    noise = np.random.default_rng(0).integers(0, 256, (64, 64, 3), dtype=np.uint8)
    whole = {form: saved(Image.fromarray(noise), form) for form in ("PNG", "JPEG", "WEBP", "BMP", "TIFF")}
    for form, data in whole.items():
        file = tmp_path / f"half.{form.lower()}"
        file.write_bytes(data[: len(data) // 2])
        with pytest.raises(UnreadableImage) as refused:
            read_image(file)
        assert str(refused.value).startswith(f"{file} must be an image that can be read, but reading it failed: ")
        assert str(refused.value).endswith(". Repair or remove it.")
    for data, why in (
        (b"", "it is no image of a known format"),
        (b"hello", "it is no image of a known format"),
        (bomb(), "reading it failed: Image size (3600000000 pixels) exceeds limit"),
    ):
        with pytest.raises(UnreadableImage) as refused:
            read_image(data, name="photo 7")
        assert f"photo 7 must be an image that can be read, but {why}" in str(refused.value)
    with pytest.raises(CodednetError, match="there is no such file"):
        read_image(tmp_path / "missing.png")


def test_any_damage_gives_an_image_or_a_reason():
    noise = np.random.default_rng(0).integers(0, 256, (20, 20, 3), dtype=np.uint8)
    draw = random.Random(0)
    for form in ("PNG", "JPEG", "GIF", "WEBP", "TIFF", "BMP", "PPM"):
        whole = saved(Image.fromarray(noise), form)
        for _ in range(25):
            damaged = bytearray(whole)
            for _ in range(draw.randint(1, 12)):
                damaged[draw.randrange(min(len(damaged), 200))] = draw.randrange(256)
            # Anything but an UnreadableImage fails the test.
            with contextlib.suppress(UnreadableImage):
                assert read_image(bytes(damaged)).mode == "RGB"
