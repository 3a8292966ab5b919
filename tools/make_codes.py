"""Write the codes that ship with the package, in src/codednet/codes/data.

The two codes of CIFAR-10 are the ones printed in the paper (appendix "Coding schemes"). The others are designed here,
and the codes of one network are ordered jointly, so that the closest two classes are as far apart as can be over its
stages.
"""

from pathlib import Path

from codednet.codes import Code, design_code, order_jointly

DATA = Path(__file__).parent.parent / "src" / "codednet" / "codes" / "data"

PAPER_5_OF_10 = """
1010100011 0101010101 1101100010 0011001101 1010010101 1001001110 1011101000 0100011110 0110111000 0100110011
"""
PAPER_3_OF_10 = """
1001001000 0110001000 1010000001 0000001110 0001010100 0010100100 0000110010 0100010001 0001100001 1100000010
"""


def main() -> None:
    DATA.mkdir(exist_ok=True)
    printed = "printed in the paper, appendix 'Coding schemes'; rows are airplane, automobile, bird, ..., truck"
    for text in (PAPER_5_OF_10, PAPER_3_OF_10):
        write(Code([[int(digit) for digit in word] for word in text.split()]), printed)
    for classes, branches, actives in ((100, 20, (8, 4)), (1000, 32, (16, 8))):
        designed = [design_code(classes, branches, active) for active in actives]
        ordered = order_jointly(designed)
        print(f"{classes} classes: worst pairs {tuple(ordered.before)} before, {tuple(ordered.after)} after ordering")
        for code in ordered.codes:
            write(code, "designed by tools/make_codes.py; rows ordered jointly with the other code of its network")


def write(code: Code, origin: str) -> None:
    path = DATA / f"{code.num_classes}-{code.num_branches}-{code.active}.txt"
    code.save(path)
    note = (
        f"# {origin}\n# minimum distance {code.min_distance} (bound {code.distance_bound}), load spread {code.spread}\n"
    )
    path.write_text(note + path.read_text(encoding="ascii"), encoding="ascii")
    print(
        f"{path.name}: distance {code.min_distance} of {code.distance_bound}, "
        f"{code.pairs_at_min} pairs, spread {code.spread}"
    )


if __name__ == "__main__":
    main()
