import pytest
import torch

from codednet import CodednetError
from codednet.models import CodedResNeXt, create_model
from codednet.models.block import CodedBottleneck


def test_trace_gives_the_logits_of_forward_and_rows_that_sum_to_the_branches(small, images) -> None:
    trace = small.trace(images)
    assert torch.equal(trace.logits, small(images))
    assert len(trace.energies) == len(small.coded_blocks) == 4
    for energies in trace.energies:
        assert energies.shape == (3, 10)
        assert energies.dtype == torch.float32
        torch.testing.assert_close(energies.sum(1), torch.full((3,), 10.0))


def test_walk_names_blocks_in_order_of_depth(small, images) -> None:
    steps = list(small.walk(images))
    assert [step.name for step in steps] == [f"layer{s}.{b}" for s in (1, 2, 3) for b in (0, 1)]
    assert [step.index for step in steps] == list(range(6))
    assert [step.is_coded for step in steps] == [False, False, True, True, True, True]
    assert torch.equal(small.forward_head(steps[-1].finish()), small(images))


@pytest.mark.parametrize("asked", [(), ("hidden",), ("energies",), ("hidden", "energies")])
def test_output_is_the_same_whatever_was_asked_before(small, images, asked: tuple[str, ...]) -> None:
    trace = small.trace(images)
    energies = []
    for step in small.walk(images):
        for what in asked:
            getattr(step, what)
        output = step.finish()
        assert step.finish() is output
        energies += [] if step.energies is None else [step.energies]
    torch.testing.assert_close(small.forward_head(output), trace.logits)
    for got, want in zip(energies, trace.energies, strict=True):
        torch.testing.assert_close(got, want)


@pytest.mark.parametrize("start", [f"layer{s}.{b}" for s in (1, 2, 3) for b in (0, 1)])
def test_walk_resumes_at_any_block_from_its_stored_input(small, images, start: str) -> None:
    stored = next(step.input for step in small.walk(images) if step.name == start)
    copy = stored.clone()
    rest = list(small.walk(stored, start=start))
    assert rest[0].name == start
    assert torch.equal(small.forward_head(rest[-1].finish()), small(images))
    assert torch.equal(stored, copy), "a walk must not write to the tensor that it starts from"


def test_a_walk_that_stops_at_the_energies_runs_nothing_after_them(small, images) -> None:
    ran = []
    for name, module in small.named_modules():
        module.register_forward_hook(lambda *_, name=name: ran.append(name))
    step = next(step for step in small.walk(images) if step.is_coded)
    assert step.energies is not None
    assert "layer2.0.act2" in ran
    assert not [name for name in ran if name.startswith(("layer2.0.conv3", "layer2.0.bn3", "layer2.1", "layer3"))]


def test_keep_removes_branches_of_one_block_before_normalisation(small, images) -> None:
    mask = torch.tensor([1, 1, 1, 0, 1, 0, 1, 1, 1, 1])
    trace = small.trace(images, keep=[None, mask, None, None])
    whole = small.trace(images)
    assert torch.equal(trace.energies[0], whole.energies[0])
    assert (trace.energies[1][:, mask == 0] == 0).all()
    torch.testing.assert_close(trace.energies[1].sum(1), torch.full((3,), 10.0))
    assert not torch.allclose(trace.logits, whole.logits)


def test_keep_may_differ_from_image_to_image(small, images) -> None:
    masks = (torch.rand(3, 10) > 0.4).float()
    together = small.trace(images, keep=[masks, None, None, masks])
    for index in range(3):
        mask = masks[index]
        alone = small.trace(images[index : index + 1], keep=[mask, None, None, mask])
        torch.testing.assert_close(together.logits[index : index + 1], alone.logits, rtol=1e-4, atol=1e-5)


def test_keep_that_does_not_fit_is_refused(small, images) -> None:
    with pytest.raises(CodednetError, match=r"an entry for each of the 4 coded blocks \(layer2.0, .* got 2"):
        small.trace(images, keep=[None, None])
    with pytest.raises(CodednetError, match=r"keep must have shape \(10,\) or \(3, 10\)"):
        small.trace(images, keep=[torch.ones(2, 10), None, None, None])


def test_unknown_start_is_refused(small, images) -> None:
    with pytest.raises(CodednetError, match=r"no block is called 'layer2.2'; did you mean 'layer2.1'\?"):
        next(small.walk(images, start="layer2.2"))


@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_images_that_are_not_numbers_are_refused_in_evaluation_alone(small, images, bad: float) -> None:
    images[1, 0, 3, 3] = bad
    with pytest.raises(CodednetError, match="1 of 3 hold NaN or infinity, the first is image 1"):
        small.trace(images)
    small.train().trace(images)


@pytest.mark.parametrize("call", ["__call__", "trace", "forward_intermediates"])
def test_images_of_other_channels_are_refused(small, call: str) -> None:
    with pytest.raises(CodednetError, match=r"\(batch, 3, height, width\); got \(2, 1, 16, 16\)"):
        getattr(small, call)(torch.zeros(2, 1, 16, 16))
    assert create_model("coded_resnext20_10x4d", in_chans=1)(torch.zeros(2, 1, 16, 16)).shape == (2, 10)


def test_blocks_of_one_code_drop_the_same_branches(small, images, monkeypatch) -> None:
    seen = []
    run, forward = CodedBottleneck.run, CodedBottleneck.forward

    def spied_run(self, x, keep=None, drop=None):
        seen.append(drop)
        return run(self, x, keep, drop)

    def spied_forward(self, x, drop=None):
        seen.append(drop)
        return forward(self, x, drop)

    monkeypatch.setattr(CodedBottleneck, "run", spied_run)
    monkeypatch.setattr(CodedBottleneck, "forward", spied_forward)
    for network in (small.train(), small.trace):
        seen.clear()
        network(images)
        assert seen[0] is seen[1]
        assert seen[2] is seen[3]
        assert seen[0].shape == (3, 10)
        assert not torch.equal(seen[0], seen[2])
    seen.clear()
    small.eval()(images)
    assert seen == [None] * 4


def test_forward_and_trace_train_alike(small, images) -> None:
    small.train()
    torch.manual_seed(5)
    want = small(images)
    torch.manual_seed(5)
    assert torch.equal(small.trace(images).logits, want)


@pytest.mark.parametrize("traced", [False, True])
def test_checkpointing_changes_no_gradient(images, lively, traced: bool) -> None:
    gradients = []
    model = lively(create_model("coded_resnext20_10x4d")).train()
    for checkpointing in (False, True):
        model.set_grad_checkpointing(checkpointing)
        model.zero_grad()
        torch.manual_seed(5)
        trace = model.trace(images) if traced else None
        loss = model(images).square().sum() if trace is None else trace.logits.square().sum()
        loss = loss + sum(energies.square().sum() for energies in trace.energies) if trace else loss
        loss.backward()
        gradients.append([parameter.grad.clone() for parameter in model.parameters()])
    for left, right in zip(*gradients, strict=True):
        torch.testing.assert_close(left, right)


@pytest.mark.parametrize("traced", [False, True])
def test_checkpointing_computes_every_block_again(small, images, traced: bool) -> None:
    ran = []
    for _, block in small.train().named_blocks():
        block.conv2.register_forward_hook(lambda module, *_: ran.append(module))
    small.set_grad_checkpointing()
    logits = small.trace(images).logits if traced else small(images)
    assert len(ran) == 6
    logits.sum().backward()
    assert len(ran) == 12


def test_a_dropping_module_set_to_evaluation_drops_nothing(small, images) -> None:
    small.train().drop_branch.eval()
    assert torch.equal(small(images), small(images))


def test_a_plain_twin_walks_and_traces_without_energies(images, lively) -> None:
    model: CodedResNeXt = lively(create_model("resnext20_10x4d")).eval()
    trace = model.trace(images)
    assert trace.energies == []
    assert torch.equal(trace.logits, model(images))
    for step in model.walk(images):
        assert step.energies is None
        assert step.hidden.shape[1] == step.block.config.hidden_channels
    torch.testing.assert_close(model.forward_head(step.finish()), trace.logits)


def test_drop_path_and_dropout_act_while_training_alone(images, lively) -> None:
    model = lively(create_model("coded_resnext20_10x4d", drop_path_rate=0.5, drop_rate=0.5, drop_branch=0.0)).train()
    assert not torch.equal(model(images), model(images))
    model.eval()
    assert torch.equal(model(images), model(images))
